package pathguard

// NewPortable is New with the implementation that platforms without openat2
// use.
func NewPortable(dir string, rules Rules) (*Guard, error) {
	g, err := New(dir, rules)
	if err == nil {
		g.files = portable{}
	}
	return g, err
}

// TempName returns a name for a temporary file.
func TempName() string { return tempName() }

// Forget makes the next call resolve the rules anew.
func Forget(g *Guard) { g.current.Store(nil) }
