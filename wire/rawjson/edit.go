package rawjson

// With returns the object in data with a member set to value, which is JSON: in the
// place of all members of that name or, if there is none, at the end. What is no
// object is returned as it is.
func With(data []byte, member string, value []byte) []byte {
	written := false
	with, err := Edit(data, func(name, old []byte) []byte {
		switch {
		case string(name) != member:
			return old
		case written:
			return nil
		}
		written = true
		return value
	})
	if err != nil || written {
		return with
	}
	with = with[:len(with)-1]
	if len(with) > 1 {
		with = append(with, ',')
	}
	return append(append(append(AppendString(with, member), ':'), value...), '}')
}

// Without returns the object in data without members of a name. What is no object is
// returned as it is.
func Without(data []byte, member string) []byte {
	if Member(data, member) == nil {
		return data
	}
	without, _ := Edit(data, func(name, old []byte) []byte {
		if string(name) == member {
			return nil
		}
		return old
	})
	return without
}

// Edit copies the object in data with the value that edit returns for each member, or
// without it if that is nil. What is no object is returned as it is, with the error.
func Edit(data []byte, edit func(name, value []byte) []byte) ([]byte, error) {
	out := append(make([]byte, 0, len(data)+64), '{')
	err := Object(data, func(name, value []byte) error {
		if value = edit(name, value); value == nil {
			return nil
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(AppendString(out, name), ':'), value...)
		return nil
	})
	if err != nil {
		return data, err
	}
	return append(out, '}'), nil
}
