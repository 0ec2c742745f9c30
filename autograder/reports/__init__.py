"""What people read: feedback, the table, the class report and the CSV file of scores."""
