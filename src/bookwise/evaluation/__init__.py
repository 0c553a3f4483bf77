"""How well a book is served: its own questions asked, judged, and its scale of similarity fitted."""
