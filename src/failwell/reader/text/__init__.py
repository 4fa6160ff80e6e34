"""What flat error text says: rule tables by family of software, and what they share."""
