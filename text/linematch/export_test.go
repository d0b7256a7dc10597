package linematch

// Across reports whether the pattern may match several lines.
func (m *Matcher) Across() bool { return m.across }
