"""What people read: feedback, the table, the class page and the CSV file of scores."""
