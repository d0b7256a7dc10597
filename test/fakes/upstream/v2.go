package main

import "fmt"

// contracts is a tool whose results have the form of the V2 contract, in which some
// systems have tools return files and hints for display, or an older form of it.
func contracts() []tool {
	const artifact = `{"name":"report.pdf","b64":"` + pdf + `","mime":"application/pdf","size":15,"description":"The report.","viewer":"pdf"}`
	const image = `{"name":"plot.png","b64":"` + png + `","mime":"image/png"}`
	forms := map[string]string{
		"full":       `{"results":{"summary":"Done.","data":{"n":1.50}},"artifacts":[` + artifact + `,` + image + `],"display":{"open_canvas":true,"primary_file":"report.pdf","mode":"replace","viewer_hint":"pdf","title":"Report"},"meta_data":{"took_ms":5}}`,
		"results":    `{"results":"only a text"}`,
		"iframe":     `{"results":{"ok":true},"display":{"type":"iframe","url":"https://example.com/app","title":"App","sandbox":"allow-scripts"}}`,
		"result":     `{"result":{"summary":"Old."},"meta-data":{"old":1}}`,
		"metadata":   `{"results":{"summary":"Old."},"metadata":{"old":2}}`,
		"files":      `{"results":{"summary":"Old."},"returned_file_names":["report.pdf","plot.png"],"returned_file_contents":["` + pdf + `","` + png + `"]}`,
		"nameless":   `{"results":{"summary":"Odd."},"artifacts":[{"b64":"` + pdf + `"},{"name":"x.pdf"},7,` + artifact + `]}`,
		"bad_base64": `{"results":{"summary":"Odd."},"artifacts":[{"name":"x.pdf","b64":"not base64!","mime":"application/pdf"}]}`,
		"climbing":   `{"results":{"summary":"Odd."},"artifacts":[{"name":"../../etc/passwd","b64":"` + pdf + `","mime":"application/pdf"}]}`,
		"bare":       `{"summary":"Not in the contract.","n":1}`,
	}
	return []tool{{"v2", "Returns a result in the form of the V2 contract.", schema(`"kind":{"type":"string"},"as":{"type":"string","enum":["text","structured","both","image"]}`), func(c *call) (string, error) {
		var in struct{ Kind, As string }
		c.arguments(&in)
		form, ok := forms[in.Kind]
		switch {
		case in.As == "image":
			return fmt.Sprintf(`"content":[{"type":"text","text":"{\"results\":{\"summary\":\"A picture.\"}}"},{"type":"image","data":%q,"mimeType":"image/png"}]`, png), nil
		case !ok:
			return failure("no such form"), nil
		case in.As == "structured":
			return `"content":[],"structuredContent":` + form, nil
		case in.As == "both":
			return join(text(form), `"structuredContent":`+form), nil
		}
		return text(form), nil
	}}}
}
