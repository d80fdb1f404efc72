"""S3: move slow ranks and links to where they hurt least; state moves in memory, nothing is started anew."""
