package main

// Small files, in base64.
const (
	png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	wav = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
	pdf = "JVBERi0xLjQKJSVFT0YK"
)

// contents are tools that return what results may have.
func contents() []tool {
	returning := func(name, description, listed, result string) tool {
		return tool{name, description, listed, func(*call) (string, error) { return result, nil }}
	}
	content := func(name, blocks string) tool {
		return returning("content_"+name, "Returns content: "+name+".", schema(""), `"content":[`+blocks+`]`)
	}
	const annotated = `"annotations":{"audience":["user","assistant"],"priority":0.75,"lastModified":"2026-01-02T03:04:05Z"}`
	const numbers = `"outputSchema":{"type":"object","properties":{"n":{"type":"integer"},"of":{"$ref":"#/$defs/of"}},"required":["n"],"$defs":{"of":{"type":"array","items":{"type":"number"}}}}`
	const icons = `"icons":[{"src":"data:image/png;base64,` + png + `","mimeType":"image/png","sizes":["1x1"],"theme":"light"},{"src":"https://example.com/icon.svg"}]`
	return []tool{
		content("text", `{"type":"text","text":"plain \u00e9\u2028 \"quoted\" <b> & \u0000","`+annotated[1:]+`,"_meta":{"example.com/block":{"n":1.50}}}`),
		content("image", `{"type":"image","data":"`+png+`","mimeType":"image/png",`+annotated+`}`),
		content("audio", `{"type":"audio","data":"`+wav+`","mimeType":"audio/wav"}`),
		content("embedded", `{"type":"resource","resource":{"uri":"upstream://text","mimeType":"text/plain","text":"embedded","_meta":{"n":1}},"_meta":{"m":2},`+annotated+`}`),
		content("blob", `{"type":"resource","resource":{"uri":"upstream://blob","mimeType":"application/pdf","blob":"`+pdf+`"}}`),
		content("link", `{"type":"resource_link","uri":"upstream://text","name":"text","title":"A text","description":"Linked.","mimeType":"text/plain","size":4,`+icons+`,`+annotated+`}`),
		content("mixed", `{"type":"text","text":"one"},{"type":"image","data":"`+png+`","mimeType":"image/png"},{"type":"resource_link","uri":"https://example.com/x","name":"x"},{"type":"text","text":"two"}`),
		content("none", ""),
		returning("meta", "Has and returns _meta.", schema("")+`,"_meta":{"ui/resourceUri":"ui://upstream/app.html","ui":{"resourceUri":"ui://upstream/app.html","visibility":["model","app"]},"example.com/x":[1,2.50,1e3]}`,
			text("see _meta")+`,"_meta":{"ui/resourceUri":"ui://upstream/app.html","example.com/y":{"n":12345678901234567890}}`),
		returning("decorated", "Has all that a tool may have.", `"inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"name":{"type":"string","minLength":1}},`+
			`"properties":{"kind":{"enum":["a","b"]},"name":{"$ref":"#/$defs/name"},"n":{"type":"number","default":1.50}},"if":{"properties":{"kind":{"const":"a"}},"required":["kind"]},"then":{"required":["name"]},`+
			`"x-vendor":{"order":["b","a"]},"additionalProperties":false},"title":"All of it",`+icons+`,"annotations":{"title":"All","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false,"x-other":1},"execution":{"taskSupport":"forbidden"},"x-unknown":{"kept":true}`,
			text("decorated")),
		returning("structured", "Returns structured content by its schema.", schema("")+","+numbers, join(text(`{"n":7,"of":[1.50,2]}`), `"structuredContent":{"n":7,"of":[1.50,2],"big":12345678901234567890}`)),
		returning("structured_free", "Returns structured content without a schema.", schema(""), join(text("free"), `"structuredContent":{"b":1,"a":{"z":null}}`)),
		returning("structured_only", "Returns structured content and an empty list.", schema("")+","+numbers, `"content":[],"structuredContent":{"n":8}`),
		returning("structured_wrong", "Returns structured content against its schema.", schema("")+","+numbers, join(text("wrong"), `"structuredContent":{"n":"seven"}`)),
		returning("structured_missing", "Returns none, against its schema.", schema("")+","+numbers, text("none")),
		returning("structured_array", "Returns an array as structured content.", schema(""), join(text("[1,2]"), `"structuredContent":[1,2]`)),
		returning("structured_failed", "Fails with structured content.", schema("")+","+numbers, join(failure("failed"), `"structuredContent":{"reason":"none"}`)),
		returning("extended", "Returns members that nobody knows.", schema(""), join(text("x"), `"x-unknown":{"kept":[1.0]}`)),
	}
}
