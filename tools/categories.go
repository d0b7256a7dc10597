package tools

// Categories returns the categories of the built-in tools, sorted. Which of them
// have tools depends on the configuration.
func Categories() []string {
	return []string{"ai", "file", "jobs", "meta", "shell", "system", "utility", "web"}
}
