package app

// fewDescriptors reports that there is no limit of open files that matters.
func fewDescriptors() bool { return false }
