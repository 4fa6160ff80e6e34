"""What follows from the results: the table, the page with its pictures, and the figures that other pages quote."""
