package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Files returns the files of a record whose newest is at a path, the oldest first.
func Files(path string) ([]string, error) {
	ext := filepath.Ext(path)
	old, err := filepath.Glob(strings.TrimSuffix(path, ext) + "-" + strings.Repeat("[0-9]", 15) + ext)
	slices.Sort(old) // by number
	return append(old, path), err
}

// OCSF returns an entry as an event of OCSF 1.7 (schema.ocsf.io): a call as API activity (6003), an attempt to authenticate as authentication
// (3002). Of other entries there is none. Line is the entry as it was written, whose hash identifies the event.
func (e *Entry) OCSF(version string, line []byte) ([]byte, error) {
	at, err := time.Parse(time.RFC3339Nano, e.Time)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(strings.TrimSuffix(string(line), "\n")))
	class, category, activity, status := 6003, 6, 99, 1 // other: a tool does what it does
	severity := 1                                       // informational
	switch {
	case e.Type == SignIn:
		class, category, activity, status, severity = 3002, 3, 1, 2, 3
	case e.Type != End && e.Type != Begin:
		return nil, nil
	case e.Outcome == "error" || e.Outcome == "tool_error":
		status, severity = 2, 2
	case e.Type == Begin:
		status = 0
	}
	event := map[string]any{
		"class_uid": class, "category_uid": category, "activity_id": activity, "type_uid": class*100 + activity, "severity_id": severity, "status_id": status,
		"time": at.UnixMilli(),
		"metadata": map[string]any{
			"version": "1.7.0", "uid": hex.EncodeToString(sum[:]), "sequence": e.Sequence, "correlation_uid": e.ID,
			"product": map[string]any{"name": "toolserver", "vendor_name": "toolserver", "version": version},
		},
		"src_endpoint": map[string]any{"ip": e.Address},
	}
	if e.Error != "" {
		event["status_code"] = e.Error
	}
	if e.Type == SignIn {
		event["user"], event["count"], event["message"] = map[string]any{"type_id": 0}, max(1, e.Count), e.Detail
		event["service"] = map[string]any{"name": "toolserver"}
	} else {
		groups := []map[string]string{}
		for _, g := range e.Groups {
			groups = append(groups, map[string]string{"name": g})
		}
		event["actor"] = map[string]any{
			"user": map[string]any{"uid": e.Principal, "groups": groups}, "session": map[string]any{"uid": e.Session}, "app_name": e.Client,
		}
		event["api"] = map[string]any{
			"operation": e.Name, "service": map[string]any{"name": "toolserver" + strings.TrimSuffix("/"+e.Server, "/")},
			"request": map[string]any{"uid": e.ID}, "response": map[string]any{"error": e.Error},
		}
		event["duration"] = e.Micros / 1000
		event["unmapped"] = map[string]any{"args_digest": e.Digest, "target": e.Target, "rules": e.Rules, "policy": e.Policy, "in": e.In, "out": e.Out}
	}
	return json.Marshal(event)
}
