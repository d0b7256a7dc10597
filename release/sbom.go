package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// sbom returns what a binary is made of, as CycloneDX, from what Go has recorded in it.
func (r *release) sbom(p platform, binary []byte) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(binary)
	component := func(path, version string) object {
		purl := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
		return object{"type": "library", "bom-ref": purl, "name": path, "version": version, "purl": purl}
	}
	main := object{
		"type": "application", "bom-ref": project, "name": project, "version": r.version, "licenses": []object{{"license": object{"id": license}}},
		"hashes":     []object{{"alg": "SHA-256", "content": fmt.Sprintf("%x", sum)}},
		"properties": []object{{"name": "platform", "value": p.String()}, {"name": "commit", "value": r.commit}},
	}
	parts := []object{component("stdlib", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		parts = append(parts, component(m.Path, m.Version))
	}
	needed := make([]any, len(parts))
	for i, part := range parts {
		needed[i] = part["bom-ref"]
	}
	return jsonOf(object{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"serialNumber": fmt.Sprintf("urn:uuid:%x-%x-5%.3s-8%.3s-%x", sum[:4], sum[4:6], hex.EncodeToString(sum[6:8]), hex.EncodeToString(sum[8:10]), sum[10:16]),
		"metadata":     object{"timestamp": r.date.Format(time.RFC3339), "component": main},
		"components":   parts,
		"dependencies": []object{{"ref": project, "dependsOn": needed}},
	})
}
