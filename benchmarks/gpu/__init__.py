"""What one GPU does: ours, torch_geometric's, and the floor that memory sets to both."""
