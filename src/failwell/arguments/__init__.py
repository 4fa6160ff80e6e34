"""What is wrong with the arguments of a call, found out and put into words."""
