//go:build linux

package main

import "fmt"

// notified takes in a notification, which must belong to something that is open.
func (c *stdioConn) notified(m *message) error {
	switch m.Method {
	case "notifications/progress":
		token, err := progressed(m.Params, nil)
		if err != nil || c.gone[token] { // it may have crossed the cancellation
			return err
		}
		w := c.open[token]
		if w == nil {
			return fmt.Errorf("progress of %s, which is not open", token)
		}
		w.progress++
		_, err = progressed(m.Params, &w.last)
		return err
	case "notifications/tools/list_changed", "notifications/subscriptions/acknowledged":
		id := subscription(m.Params)
		if id == "" || c.gone[id] {
			c.soak.tally.add("notifications", "tools/list_changed of a session")
			return nil
		}
		w := c.open[id]
		if w == nil || w.events == nil {
			return fmt.Errorf("%s of %s, which is no subscription", m.Method, id)
		}
		select {
		case w.events <- m:
		default: // its owner is about to go
		}
		return nil
	}
	if m.Method == resourcesChanged || m.Method == promptsChanged {
		return nil
	}
	return fmt.Errorf("an unexpected notification %s", m.Method)
}
