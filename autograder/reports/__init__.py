"""What people read: a student's pages, the table, the class page and the CSV file of scores."""
