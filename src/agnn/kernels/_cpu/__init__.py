"""What the compiled CPU kernels share: vectors, threads, exponentials, layouts."""
