package websearch

// Configured returns the names of the services in force.
func (o Options) Configured() (names []string) {
	for _, p := range o.configured() {
		names = append(names, p.name)
	}
	return names
}
