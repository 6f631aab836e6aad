"""What every room uses: errors, files, progress, processes, and codes as bits."""
