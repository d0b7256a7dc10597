//go:build linux

package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// hides is a page with a text in it, NEEDLE, that is not seen in some way.
type hides struct {
	page string
	// differs says why what we show differs from what a browser does.
	differs string
}

// hiding are ways not to show an element, as declarations.
var hiding = []string{
	"display:none", "display : NONE", "visibility:hidden", "visibility:collapse", "opacity:0", "opacity:.01", "opacity:0%", "font-size:0", "font-size:1px",
	"font:0/0 a", "max-height:0;overflow:hidden", "height:0;overflow:hidden", "height:1px;width:1px;overflow:hidden;position:absolute",
	"width:0;height:0;overflow:hidden", "text-indent:-9999px", "text-indent:-999em", "position:absolute;left:-9999px",
	"position:fixed;top:-999em", "position:relative;left:-9999px", "margin-left:-9999px", "position:absolute;right:9999px",
	"position:absolute;clip:rect(0,0,0,0)", "position:absolute;clip:rect(1px, 1px, 1px, 1px)", "clip-path:inset(50%)", "clip-path:inset(100%)",
	"clip-path:circle(0)", "clip-path:polygon(0 0, 0 0, 0 0)", "transform:scale(0)", "transform:translateX(-9999px)", "content-visibility:hidden",
	"filter:opacity(0)", "color:transparent", "color:rgba(0,0,0,0)", "color:rgba(0 0 0 / 0)", "color:rgb(0 0 0 / 0%)", "color:#00000000", "color:#0000",
	"color:#fff8", "color:#ffffff80", "color:white", "color:#FFF", "color:#fefefe", "color:rgb(255,255,255)", "color:rgb( 255 , 255 , 255 )",
	"color:rgb(100%,100%,100%)", "color:rgb(255 255 255)", "color:hsl(0,0%,100%)", "color:hsl(0 0% 100%)", "color:hsla(120, 50%, 100%, 1)",
	"color:hsl(120deg 100% 99.9%)", "color:snow", "color:ghostwhite", "color:#000;background:#000", "color:navy;background-color:#000080",
	"color:#111;background:#121212 none", "-webkit-text-fill-color:transparent", "color:red;color:white", "width:0;overflow:hidden;white-space:nowrap",
}

// carriers bring a declaration to an element, which is a block.
var carriers = []string{
	`<div style="%s">NEEDLE</div>`,
	`<style>.x{%s}</style><div class="a x">NEEDLE</div>`,
	`<style>#x{%s}</style><div id=x>NEEDLE</div>`,
	`<style>article{%s}</style><article>NEEDLE</article>`,
	`<style>.a .b{%s}</style><section class=a><div><div class=b>NEEDLE</div></div></section>`,
	`<style>section>div.b{%s}</style><section><div class=b>NEEDLE</div></section>`,
	`<style>h1, .x , h2{%s}</style><div class=x>NEEDLE</div>`,
	`<style>[data-k="v"]{%s}</style><div data-k=v>NEEDLE</div>`,
	`<style>div[class^=pre]{%s}</style><div class=prefix>NEEDLE</div>`,
	`<style>@media screen{.x{%s}}</style><div class=x>NEEDLE</div>`,
	`<style>@media all and (min-width:400px){.x{%s}}</style><div class=x>NEEDLE</div>`,
	`<style media=screen>/* c */ <!-- .x{%s} --></style><div class=x>NEEDLE</div>`,
	`<style>@import url(data:text/css,x); .y{color:red}} .z{} .x{%s</style><div class=x>NEEDLE</div>`,
	`<style>p + .x{%s}</style><p>a</p><div class=x>NEEDLE</div>`,
	`<style>.x:first-child{%s}</style><section><div class=x>NEEDLE</div></section>`,
	`<style>.x{%s}</style><div class=x><p>a <b>NEEDLE</b></p></div>`,
	`<style>:root .x{y:);%s}</style><div class=x>NEEDLE</div>`,
	`<style>@supports (display:block){div.x{%s}}</style><div class=x>NEEDLE</div>`,
}

var singular = []hides{
	// Not seen.
	{page: `<p hidden>NEEDLE</p>`}, {page: `<input type=hidden value=a><p hidden=until-found>NEEDLE</p>`}, {page: `<template>NEEDLE</template>`},
	{page: `<font color=white>NEEDLE</font>`}, {page: `<font color="#FFFFFF">NEEDLE</font>`}, {page: `<font color=fefefe>NEEDLE</font>`},
	{page: `<table bgcolor="#003366"><tr><td><p style="color:#036">NEEDLE</p></td></tr></table>`},
	{page: `<table><tr bgcolor=black><td><font color=black>NEEDLE</font></td></tr></table>`},
	{page: `<div style="background:#222"><p><span style="color:#222">NEEDLE</span></p></div>`},
	{page: `<body bgcolor=black text=black><p>NEEDLE</p></body>`},
	{page: `<body style="background:#123;color:#123"><p>NEEDLE</p></body>`},
	{page: `<style>body{background:black}.x{color:black}</style><p class=x>NEEDLE</p>`},
	{page: `<style>.a{color:white}</style><div class=a><p>NEEDLE</p></div>`},
	{page: `<div style="opacity:.2"><div style="opacity:.2"><div style="opacity:.2"><p>NEEDLE</p></div></div></div>`},
	{page: `<div style="opacity:0"><p style="opacity:1">NEEDLE</p></div>`},
	{page: `<style>.x{display:none!important}</style><p class=x style="display:block">NEEDLE</p>`},
	{page: `<style>.x{display:none}p{display:block}</style><p class=x>NEEDLE</p>`},
	{page: `<style>p{display:block}p{display:none}</style><p>NEEDLE</p>`},
	{page: `<style>#a{display:none}.x.x.x{display:block}</style><p id=a class=x>NEEDLE</p>`},
	{page: `<style>.x{display:none;display:bogus}</style><p class=x>NEEDLE</p>`},
	{page: `<style>.x{color:white;color:nosuch}</style><p class=x>NEEDLE</p>`},
	{page: `<div style="visibility:hidden">a<p>NEEDLE</p></div>`},
	{page: `<div style="font-size:0"><span style="font-size:100%">NEEDLE</span></div>`},
	{page: `<div style="font-size:0"><span style="font-size:2em">NEEDLE</span></div>`},
	{page: `<table><tr><td style="display:none">NEEDLE</td><td>a</td></tr></table>`},
	{page: `<table><tr style="visibility:collapse"><td>NEEDLE</td></tr></table>`},
	{page: `<table><tr><td style="font-size:0;line-height:0" width=0 height=0>NEEDLE</td></tr></table>`},
	{page: `<div style="display:none;mso-hide:all">NEEDLE</div>`},
	{page: `<style>@media (prefers-color-scheme:light){.x{display:none}}</style><p class=x>NEEDLE</p>`},
	{page: `<style>@media not print{.x{display:none}}</style><p class=x>NEEDLE</p>`},
	{page: `<style>@media print, screen{.x{display:none}}</style><p class=x>NEEDLE</p>`},
	{page: `<style>@media only screen and (max-width:2000px) and (min-width:20em){.x{display:none}}</style><p class=x>NEEDLE</p>`},
	{page: `<style>@layer a{.x{display:none}}</style><p class=x>NEEDLE</p>`},
	{page: `<style>.x\:y{display:none}</style><p class="x:y">NEEDLE</p>`},
	{page: `<style>d\69v.x{d\69splay:n\6fne}</style><div class=x>NEEDLE</div>`},
	{page: `<style>p:not(.y){display:none}</style><p>NEEDLE</p>`},
	{page: `<style>p:nth-child(2){display:none}</style><p>a<p>NEEDLE`},
	{page: `<style>.x::before{content:""}.x, .y::after{display:none}</style><p class=x>NEEDLE</p>`},
	{page: `<p style="x:);display:none">NEEDLE</p>`}, {page: `<p style="background:url('/*');display:none;color:red'*/'">NEEDLE</p>`},
	{page: `<p style="/* x */display/**/:/**/none">NEEDLE</p>`}, {page: `<p style="font-size:0;content:';font-size:14px;'">NEEDLE</p>`},
	{page: `<div style="background:#fff"><p style="color:rgba(255,255,255,.9)">NEEDLE</p></div>`},
	{page: `<div style="background:rgba(0,0,0,1)"><p style="color:rgb(3,3,3)">NEEDLE</p></div>`},
	{page: `<a href=x style="color:#fff">NEEDLE</a>`}, {page: `<span style="color:white"><b><i>NEEDLE</i></b></span>`},
	{page: `<div style="display:flex"><span style="width:0;overflow:hidden">NEEDLE</span></div>`},
	{page: `<span style="display:inline-block;width:0;overflow:hidden">NEEDLE</span>`},
	{page: `<div style="display:none"><p style="display:block;visibility:visible">NEEDLE</p></div>`},
	{page: `<noembed>NEEDLE</noembed>`}, {page: `<noframes>NEEDLE</noframes>`}, {page: `<iframe>NEEDLE</iframe>`},
	{page: `<p style="font-size:.05em">NEEDLE</p>`, differs: "only Chromium draws it larger"},
	{page: `<style>.x{color:var(--c)}:root{--c:#fff}</style><p class=x>NEEDLE</p>`, differs: "variables are not known"},
	{page: `<style>:is(.x,.y){display:none}</style><p class=x>NEEDLE</p>`, differs: ":is is not known"},
	{page: `<style>div:has(b){display:none}</style><div><b>NEEDLE</b></div>`, differs: ":has takes long"},
	{page: `<style>.a{.x{display:none}}</style><div class=a><p class=x>NEEDLE</p></div>`, differs: "rules within rules are not read"},
	{page: `<p style="color:oklch(1 0 0)">NEEDLE</p>`, differs: "the colour is not known"},
	{page: `<p style="position:absolute;color:white">NEEDLE</p>`, differs: "it may stand on something else"},
	{page: `<details><summary>a</summary>NEEDLE</details>`, differs: "the reader may open it"},
	{page: `<div style="position:relative"><p style="position:absolute;z-index:1">NEEDLE</p><div style="position:absolute;z-index:2;background:#fff;inset:-20px;width:900px;height:300px"></div></div>`, differs: "what stands on what is not known"},

	// Seen.
	{page: `<p>NEEDLE</p>`}, {page: `<table bgcolor=black><tr><td><font color=white>NEEDLE</font></td></tr></table>`},
	{page: `<table><tr><td style="background:#333;color:#fff">NEEDLE</td></tr></table>`},
	{page: `<style>.dark{background:#000}.dark p{color:#fff}</style><div class=dark><p>NEEDLE</p></div>`},
	{page: `<body bgcolor="#000000"><p style="color:white">NEEDLE</p></body>`},
	{page: `<body style="background:black"><p style="color:#fff">NEEDLE</p></body>`},
	{page: `<div style="background:linear-gradient(black,blue);color:white">NEEDLE</div>`},
	{page: `<div style="background-image:linear-gradient(#111,#333);color:#fff"><p>NEEDLE</p></div>`},
	{page: `<div style="background:#fff linear-gradient(#111,#333);color:#fff"><p>NEEDLE</p></div>`},
	{page: `<table><tr><td background="IMAGE" style="color:white">NEEDLE</td></tr></table>`},
	{page: `<div style="background:url('IMAGE');color:#fff"><p>NEEDLE</p></div>`},
	{page: `<div style="background:#ffffff url(IMAGE);color:#fff"><p>NEEDLE</p></div>`},
	{page: `<div style="font-size:0"><span style="font-size:14px">NEEDLE</span></div>`},
	{page: `<div style="font-size:0"><p style="font:14px/1.5 Arial">NEEDLE</p></div>`},
	{page: `<div style="font-size:0"><p style="font-size:1rem">NEEDLE</p></div>`},
	{page: `<div style="font-size:0"><p style="font-size:medium">NEEDLE</p></div>`},
	{page: `<div style="font-size:0"><div style="font-size:16px"><p style="font-size:inherit">NEEDLE</p></div></div>`},
	{page: `<style>.c{font-size:0}.c .d{font-size:14px}</style><div class=c><div class=d>NEEDLE</div></div>`},
	{page: `<div style="font-size:0"><table><tr><td>NEEDLE</td></tr></table></div>`},
	{page: `<div style="color:white"><table><tr><td>NEEDLE</td></tr></table></div>`},
	{page: `<p style="color:inherit;background:inherit">NEEDLE</p>`}, {page: `<p style="color:initial">NEEDLE</p>`},
	{page: `<div style="color:white"><p style="color:unset;background:black">NEEDLE</p></div>`},
	{page: `<div style="color:white"><p style="color:black">NEEDLE</p></div>`},
	{page: `<style>@media (prefers-color-scheme: dark){.x{color:white!important}}</style><p class=x>NEEDLE</p>`},
	{page: `<style>@media (prefers-color-scheme:dark){.x{display:none}}</style><p class=x>NEEDLE</p>`},
	{page: `<style>@media print{.x{display:none}}</style><p class=x>NEEDLE</p>`},
	{page: `<style media=print>.x{display:none}</style><p class=x>NEEDLE</p>`},
	{page: `<style>@media only screen and (max-width:480px){.x{display:none!important}}</style><p class=x>NEEDLE</p>`},
	{page: `<style>.x{display:none}@media (min-width:480px){.x{display:block}}</style><p class=x>NEEDLE</p>`},
	{page: `<style>.x{display:none}.x{display:block}</style><p class=x>NEEDLE</p>`},
	{page: `<style>.x{display:none}</style><p class=x style="display:block">NEEDLE</p>`},
	{page: `<style>.x{display:none}#y{display:block}</style><p class=x id=y>NEEDLE</p>`},
	{page: `<style>#y{display:block!important}</style><p id=y style="display:none">NEEDLE</p>`},
	{page: `<style>.x{visibility:hidden}.x p{visibility:visible}</style><div class=x><p>NEEDLE</p></div>`},
	{page: `<style>.x{display:block}</style><p hidden class=x>NEEDLE</p>`},
	{page: `<p style="display:none;display:block">NEEDLE</p>`}, {page: `<p style="opacity:0;opacity:1">NEEDLE</p>`},
	{page: `<style>.x:hover{display:none}</style><p class=x>NEEDLE</p>`}, {page: `<style>.x::before{display:none}</style><p class=x>NEEDLE</p>`},
	{page: `<style>.x, :nosuch(y){display:none}</style><p class=x>NEEDLE</p>`}, {page: `<style>.y .x{display:none}</style><p class=x>NEEDLE</p>`},
	{page: `<style>div > .x{display:none}</style><div><section><p class=x>NEEDLE</p></section></div>`},
	{page: `<style>.X2{display:none}</style><p class=x>NEEDLE</p>`}, {page: `<style>@supports not (display:block){.x{display:none}}</style><p class=x>NEEDLE</p>`},
	{page: `<style>@keyframes x{from{display:none;opacity:0}}</style><p class=x>NEEDLE</p>`}, {page: `<style>} .x{display:none}</style><p class=x>NEEDLE</p>`},
	{page: `<style>@font-face{font-family:x}.y{color:red}</style><p class=x>NEEDLE</p>`}, {page: `<style type="text/x">.x{display:none}</style><p class=x>NEEDLE</p>`},
	{page: `<span style="height:0;overflow:hidden">NEEDLE</span>`}, {page: `<span style="width:0;overflow:hidden">NEEDLE</span>`},
	{page: `<span style="text-indent:-9999px">NEEDLE</span>`}, {page: `<p style="left:-9999px">NEEDLE</p>`}, {page: `<p style="clip:rect(0,0,0,0)">NEEDLE</p>`},
	{page: `<div style="max-height:0">NEEDLE</div>`}, {page: `<div style="overflow:hidden;height:auto">NEEDLE</div>`},
	{page: `<div style="height:0;padding-bottom:50%;overflow:hidden">NEEDLE</div>`}, {page: `<div style="max-height:0;min-height:30px;overflow:hidden">NEEDLE</div>`},
	{page: `<div style="height:0;overflow:hidden"><p style="position:absolute">NEEDLE</p></div>`},
	{page: `<table><tr><td style="width:0;height:0;overflow:hidden">NEEDLE</td></tr></table>`}, {page: `<table style="height:0;overflow:hidden"><tr><td>NEEDLE</td></tr></table>`},
	{page: `<table><tr><td style="max-width:0;overflow:hidden;width:100%">NEEDLE</td></tr></table>`, differs: "the width of a cell is that of its column"},
	{page: `<a href=x style="mso-hide:all">NEEDLE</a>`}, {page: `<p style="text-indent:-20px;margin-left:40px">NEEDLE</p>`},
	{page: `<div style="position:absolute;left:50%;margin-left:-600px;width:1200px">NEEDLE</div>`}, {page: `<div style="color:white"><a href=x>NEEDLE</a></div>`},
	{page: `<div style="color:white"><mark>NEEDLE</mark></div>`}, {page: `<p style="color:transparent;text-shadow:0 0 2px black">NEEDLE</p>`},
	{page: `<p style="color:transparent;background:linear-gradient(red,blue);-webkit-background-clip:text">NEEDLE</p>`},
	{page: `<p style="color:#ccc">NEEDLE</p>`}, {page: `<p style="color:rgba(0,0,0,.5)">NEEDLE</p>`}, {page: `<p style="opacity:.4">NEEDLE</p>`},
	{page: `<p style="color:#fff;background:rgba(0,0,0,.6)">NEEDLE</p>`}, {page: `<p style="color:#fff;background:hsl(220,50%,30%)">NEEDLE</p>`},
	{page: `<p style="color:fff">NEEDLE</p>`, differs: "only documents without a doctype have such colours"}, {page: `<p style="font-size:9px">NEEDLE</p>`}, {page: `<p style="color:white;-webkit-text-fill-color:black">NEEDLE</p>`},
	{page: `<p style="--display:none;background:url('x;display:none')">NEEDLE</p>`}, {page: `<p title="display:none" style="content:'display:none'">NEEDLE</p>`},
	{page: `<div style="background:black;position:absolute;width:300px;height:99px"></div><p style="position:relative;color:white">NEEDLE</p>`, differs: "lost: what stands on what is not known"},
	{page: `<div style="background:black;height:60px"></div><p style="color:white;margin:-50px 0 0">NEEDLE</p>`},
	{page: `<div style="background:black;position:absolute;width:300px;height:99px"></div><p style="position:absolute;color:white">NEEDLE</p>`},
	{page: `<div style="transform:scale(0.5)">NEEDLE</div>`}, {page: `<div style="transform:translateX(-10px)">NEEDLE</div>`}, {page: `<div style="clip-path:inset(5px)">NEEDLE</div>`},
}

// TestHiddenAsInChromium compares what is read of mail with what a browser draws.
func TestHiddenAsInChromium(t *testing.T) {
	t.Parallel()
	browser := newChromium(t)
	pages := singular
	for i, declared := range hiding {
		for k := range carriersOfEach {
			pages = append(pages, hides{page: fmt.Sprintf(carriers[(i+k*5)%len(carriers)], declared)})
		}
	}
	c, dir := openTools(t, "")
	var seen, unseen, shown int
	for _, doctype := range []string{"", "<!DOCTYPE html>"} {
		for batch := range slices.Chunk(pages, framesAtOnce) {
			for i, drawn := range browser.draws(doctype, batch) {
				page := batch[i].in(doctype)
				must(t, os.WriteFile(filepath.Join(dir, "a.eml"), []byte("From: a@example.com\r\nTo: b@example.com\r\nSubject: s\r\nMIME-Version: 1.0\r\n"+
					"Content-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n"+base64.StdEncoding.EncodeToString([]byte(page))+"\r\n"), 0o600))
				read := strings.Contains(c.call("read_file", map[string]any{"path": "a.eml"}).text(), "NEEDLE")
				switch {
				case drawn:
					seen++
				default:
					unseen++
				}
				if !drawn && read {
					shown++
				}
				if read != drawn && batch[i].differs == "" {
					t.Errorf("drawn: %v, read: %v: %s", drawn, read, page)
				}
			}
		}
	}
	t.Logf("%d seen, %d unseen, of which %d are shown", seen, unseen, shown)
	if seen < 60 || unseen < 80 {
		t.Errorf("only %d pages with and %d without something to see", seen, unseen)
	}
}

// in returns the page with its image.
func (h hides) in(doctype string) string {
	return doctype + strings.ReplaceAll(h.page, "IMAGE", "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAAAAACH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==")
}

// carriersOfEach is how many of the carriers bring each declaration.
const carriersOfEach = 2

const (
	framesAtOnce = 16
	frameHeight  = 60
)

// draws reports whether pages look different without the ink of their text.
func (c *chromium) draws(doctype string, pages []hides) (drawn []bool) {
	c.t.Helper()
	const inkless = `for (const frame of document.querySelectorAll('iframe')) {
		const walk = frame.contentDocument.createTreeWalker(frame.contentDocument, NodeFilter.SHOW_TEXT);
		while (walk.nextNode()) if (walk.currentNode.data.includes('NEEDLE')) {
			const e = walk.currentNode.parentElement, s = frame.contentWindow.getComputedStyle(e);
			if (s.backgroundClip == 'text') e.style.setProperty('visibility', 'hidden', 'important');
			for (const p of ['-webkit-text-fill-color:transparent', 'text-shadow:none', 'text-decoration-color:transparent', '-webkit-text-stroke:0'])
				e.style.setProperty(p.split(':')[0], p.split(':')[1], 'important');
		}}`
	var sources []string
	for _, p := range pages {
		sources = append(sources, p.in(doctype))
	}
	list, err := json.Marshal(sources)
	must(c.t, err)
	frames := fmt.Sprintf(`document.body.style.margin = 0; document.body.replaceChildren();
		for (const page of %s) {
			const frame = document.createElement('iframe');
			frame.style = 'display:block;border:0;width:1280px;height:%dpx';
			document.body.append(frame);
			frame.contentDocument.open(); frame.contentDocument.write(page); frame.contentDocument.close();
		}`, list, frameHeight)
	var before, after []byte
	must(c.t, chromedp.Run(c.ctx, chromedp.EmulateViewport(1280, framesAtOnce*frameHeight),
		chromedp.Evaluate(frames, nil), chromedp.CaptureScreenshot(&before), chromedp.Evaluate(inkless, nil), chromedp.CaptureScreenshot(&after)))
	a, err := png.Decode(bytes.NewReader(before))
	must(c.t, err)
	b, err := png.Decode(bytes.NewReader(after))
	must(c.t, err)
	for i := range pages {
		drawn = append(drawn, differs(a, b, image.Rect(0, i*frameHeight, 1280, (i+1)*frameHeight)))
	}
	return drawn
}

// differs reports whether enough points of two images differ by more than a reader overlooks.
func differs(a, b image.Image, in image.Rectangle) bool {
	n := 0
	for y := in.Min.Y; y < in.Max.Y; y++ {
		for x := in.Min.X; x < in.Max.X; x++ {
			r, g, bl, _ := a.At(x, y).RGBA()
			r2, g2, bl2, _ := b.At(x, y).RGBA()
			d := func(p, q uint32) uint32 { return max(p, q) - min(p, q) }
			if max(d(r, r2), d(g, g2), d(bl, bl2)) > 12<<8 {
				n++
			}
		}
	}
	return n > 24
}
