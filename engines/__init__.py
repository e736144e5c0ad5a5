"""What runs views and queries."""
