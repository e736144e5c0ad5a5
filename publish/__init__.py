"""What leaves the house: answers in formats, files and pictures. No module here knows another's."""
