package web

import (
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/tools/files/content"
)

// Tool returns web_fetch over a network.
func Tool(network Network, contents *content.Reader, o Options) domain.Tool {
	return newFetcher(network, contents, o).tool()
}
