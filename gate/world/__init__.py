"""What checks look at: processes, git, worktrees, trees of files, locks; each read carefully, none of it changed."""
