"""What everything that learns in epochs shares."""
