package main

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"

	"github.com/toolserver/toolserver/domain"
)

// contentTools return each kind of content there is.
func contentTools() []domain.Tool {
	return []domain.Tool{
		returns("a_first_tool", "Is the first of the list, which a scenario calls without arguments.", text("I am the first.")),
		returns("test_simple_text", "Returns one text.", text("This is a simple text response for testing.")),
		returns("test_image_content", "Returns one image.", picture()),
		returns("test_audio_content", "Returns one sound.", sound()),
		returns("test_embedded_resource", "Returns one embedded resource.", domain.Content{
			Type: domain.ResourceContent, URI: "test://embedded-resource", MIMEType: "text/plain",
			Text: "This is an embedded resource content.",
		}),
		returns("test_multiple_content_types", "Returns a text, an image and an embedded resource.",
			text("Multiple content types test:"), picture(), domain.Content{
				Type: domain.ResourceContent, URI: "test://mixed-content-resource", MIMEType: "application/json",
				Text: `{"test":"data","value":123}`,
			}),
		reads("test_error_handling", "Returns an error, always.", func(context.Context) (domain.ToolResult, error) {
			return domain.Failure("test_error", "This tool intentionally returns an error for testing", "Expect it."), nil
		}),
	}
}

// returns is a tool that returns always the same.
func returns(name, description string, content ...domain.Content) domain.Tool {
	return reads(name, description, func(context.Context) (domain.ToolResult, error) {
		return domain.ToolResult{Content: content}, nil
	})
}

func text(s string) domain.Content { return domain.Content{Type: domain.TextContent, Text: s} }

func picture() domain.Content {
	return domain.Content{Type: domain.ImageContent, Data: redPixel(), MIMEType: "image/png"}
}

// redPixel returns a PNG file of a single pixel.
func redPixel() []byte {
	img := image.NewRGBA(image.Rect(0, 0, 1, 1))
	img.Set(0, 0, color.RGBA{R: 255, A: 255})
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err) // a buffer takes everything
	}
	return b.Bytes()
}

func sound() domain.Content {
	return domain.Content{Type: domain.AudioContent, Data: []byte(silence), MIMEType: "audio/wav"}
}

// silence is a WAV file of a single sample: mono, 8,000 a second, 16 bits each.
const silence = "RIFF\x26\x00\x00\x00WAVE" +
	"fmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00" +
	"data\x02\x00\x00\x00\x00\x00"
