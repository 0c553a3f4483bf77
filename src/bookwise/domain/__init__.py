"""What Bookwise talks about: frozen values, no I/O, no third party."""
