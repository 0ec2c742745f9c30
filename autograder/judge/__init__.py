"""The judge: declares exercises, draws inputs, knows what is right, decides, and names mistakes."""
