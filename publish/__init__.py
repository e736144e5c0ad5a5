"""What leaves the warehouse: answers in formats, files and pictures."""
