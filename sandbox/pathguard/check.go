package pathguard

// Decision is the answer of [Guard.Check].
type Decision struct {
	Allowed bool
	// Rule is the entry that decides, as the rules spell it: the allowed
	// path that holds the file, or the denied one. It is empty if the path
	// is outside all of them.
	Rule string
	// Resolved is the canonical path the request leads to. It tells where
	// links outside the allowed paths lead, so it is for the person who
	// wrote the rules and not for a model that is governed by them.
	Resolved string
	// Exists says that there is a file; it is false if Allowed is.
	Exists bool
	// Creatable says that there is none, and only plain names are missing.
	Creatable bool
	// Reason is one sentence for people.
	Reason string
}

// known judges a file at a permitted path by what else leads to it.
func (s *snapshot) known(real string) error {
	if info, err := lookAt(real); err == nil && info.Mode.IsRegular() {
		return s.suits(wantFile, info)
	}
	return nil // the decision is about the path: what cannot be looked at cannot be opened
}

// Check says what the rules make of path without opening it. The answer is
// about the moment of the call; the other methods judge again what they open.
// The error is an [*Error] of KindInvalidPath.
func (g *Guard) Check(path string) (Decision, error) {
	q, err := g.request("check", path)
	if err != nil {
		return Decision{}, err
	}
	s := g.snapshot(true)
	defer s.release()
	t, err := s.target(q)
	if err == nil && t.err == nil {
		err = s.known(t.path)
	}
	if err == nil {
		return Decision{
			Allowed: true, Rule: t.root.rule, Resolved: t.path, Exists: t.err == nil, Creatable: t.creatable,
			Reason: shown(path) + " is allowed by the rule " + t.root.rule,
		}, nil
	}
	refusal := q.failure(err)
	return Decision{Rule: refusal.Rule, Resolved: resolve(q.abs).path, Reason: refusal.Error()}, nil
}
