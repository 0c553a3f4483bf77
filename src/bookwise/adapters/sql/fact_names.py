"""Keys in the table `facts` that belong to one database and are never copied to another."""

KEY_CHANGES = "key changes"  #: counted by a trigger of PostgreSQL; the migration that creates it repeats the name
QUEUE_SCRIPTS = "queue scripts applied"  #: the number of scripts of the queue library that the tables include
