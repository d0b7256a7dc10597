package rawjson

// With returns the object in data with a member set to value, which is JSON: in the
// place of all members of that name or, if there is none, at the end. What is no
// object is returned as it is.
func With(data []byte, member string, value []byte) []byte {
	return edit(data, member, value)
}

// Without returns the object in data without members of a name. What is no object is
// returned as it is.
func Without(data []byte, member string) []byte {
	if Member(data, member) == nil {
		return data
	}
	return edit(data, member, nil)
}

// edit copies an object with another value of one member, or without it if that is nil.
func edit(data []byte, member string, value []byte) []byte {
	out := append(make([]byte, 0, len(data)+len(member)+len(value)+4), '{')
	add := func(name, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(AppendString(out, name), ':'), value...)
	}
	written := value == nil
	err := Object(data, func(name, old []byte) error {
		switch {
		case string(name) != member:
			add(name, old)
		case !written:
			add(name, value)
			written = true
		}
		return nil
	})
	if err != nil {
		return data
	}
	if !written {
		add([]byte(member), value)
	}
	return append(out, '}')
}
