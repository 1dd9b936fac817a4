"""What is in data sets: their manifests, the chains of logs that these export, bases, and moments."""
