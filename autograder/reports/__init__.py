"""What people read: feedback, the table, the class page and the file of marks."""
