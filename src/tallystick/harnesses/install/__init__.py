"""What `tally install` writes into a harness: `plan` says which files, `config_entries` what stands in them."""
