package e2e

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestUpstreamsContractOdd has an upstream answer in the form of the V2 contract, or an
// older form of it: what files it returns is neither in the text nor in the structured
// content, but can be read.
func TestUpstreamsContractOdd(t *testing.T) {
	t.Parallel()
	s := openGateway(t, gateway(entry("u", "", upstreamBinary(t))))
	s.awaits("u__v2")
	for _, kind := range []string{"nameless"} {
		for _, as := range []string{"text", "structured", "both"} {
			a := s.call("u__v2", map[string]any{"kind": kind, "as": as})
			structured, _ := json.Marshal(a.Result.StructuredContent)
			var text strings.Builder
			for _, block := range a.Result.Content {
				text.WriteString(block.Text)
			}
			if a.failed() {
				t.Errorf("%s as %s: %+v", kind, as, a.Error)
			}
			for _, b64 := range []string{pdfBase64, pngBase64} {
				if strings.Contains(text.String(), b64) || strings.Contains(string(structured), b64) {
					t.Errorf("%s as %s has base64 in its text %.500s or its structured content %.500s", kind, as, text.String(), structured)
				}
			}
			if kind == "full" && (as != "structured" && !strings.Contains(text.String(), "Done.") || !strings.Contains(string(structured), "report.pdf") || !strings.Contains(string(structured), "primary_file")) {
				t.Errorf("as %s: %s, %s", as, text.String(), structured)
			}
		}
	}
}
