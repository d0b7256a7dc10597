package main

import "bytes"

// noiseKinds are what a program writes to standard output that does not know that
// messages go there.
var noiseKinds = []string{"text", "partial", "nul", "utf8", "blank", "json", "number", "batch", "strange", "long"}

func noise(kind string) []byte {
	switch kind {
	case "text":
		return []byte("Listening on port 3000\r\n\x1b[32mready\x1b[0m in 12 ms\n")
	case "partial":
		return []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"te` + "\n")
	case "nul":
		return []byte("\x00\x00\x00\n")
	case "utf8":
		return []byte("\xff\xfe\xc3\x28\n")
	case "blank":
		return []byte("\n \r\n\n")
	case "json":
		return []byte(`{"level":"info","msg":"started"}` + "\n")
	case "number":
		return []byte("42\ntrue\nnull\n\"text\"\n")
	case "batch":
		return []byte("[]\n[1,[],{}]\n")
	case "strange": // messages that answer nothing and name nothing there is
		return []byte(`{"jsonrpc":"2.0","id":"nobody","result":{}}` + "\n" + `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}` + "\n" +
			`{"jsonrpc":"2.0","method":"notifications/unheard_of","params":{}}` + "\n" + `{"jsonrpc":"2.0","id":"q","method":"unheard/of"}` + "\n" +
			`{"jsonrpc":"1.0","id":1,"result":{}}` + "\n")
	case "long":
		return append(bytes.Repeat([]byte{'x'}, 100<<20), '\n')
	}
	return nil
}
