"""Programs that other processes start."""
