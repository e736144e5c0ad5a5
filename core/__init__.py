"""What every layer needs: errors, names, signals and progress."""
