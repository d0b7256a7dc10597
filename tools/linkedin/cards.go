package linkedin

import (
	"cmp"
	"strings"
	"sync"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"
	nethtml "golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// job is a card of the results: what is on it, as it is written there. Times and
// benefits are in the language of the host that answers.
type job struct {
	ID         string   `json:"id"`
	Title      string   `json:"title"`
	Company    string   `json:"company"`
	CompanyURL string   `json:"company_url,omitempty"`
	Location   string   `json:"location"`
	Posted     string   `json:"posted"`
	PostedDate string   `json:"posted_date,omitempty"`
	Salary     string   `json:"salary,omitempty"`
	Benefits   []string `json:"benefits,omitempty"`
	URL        string   `json:"url"`
}

// key tells jobs apart.
func (j *job) key() string {
	if j.ID != "" {
		return j.ID
	}
	return strings.Join([]string{j.Title, j.Company, j.Location}, "\x00")
}

// maxCards bounds the cards that are read of a page. LinkedIn sends ten, and sent
// twenty-five; no call returns more than a hundred.
const maxCards = 100

// What a card is known by: its classes, its URN, or the link in a list's item.
// The first have changed, so any of them will do.
var (
	cardElement = sync.OnceValue(func() cascadia.Selector {
		return cascadia.MustCompile(`.base-search-card, .job-search-card, [data-entity-urn*="jobPosting:"]`)
	})
	cardLink = sync.OnceValue(func() cascadia.Selector {
		return cascadia.MustCompile(`a.base-card__full-link[href], a[href*="/jobs/view/"]`)
	})
)

// cards reads a page of results: the jobs, and how many cards there are, which may be more if some say nothing. It reports
// whether the page is one, also if it is empty.
func (s *site) cards(body string) (jobs []job, received int, ok bool) {
	root, ok := parsePage(body)
	if !ok {
		return nil, 0, false
	}
	found, _ := cardNodes(root.Get(0), nil)
	for _, node := range found {
		if j := s.card(goquery.NewDocumentFromNode(node).Selection); j.ID != "" || j.Title != "" {
			jobs = append(jobs, j)
		}
	}
	if len(found) > 0 {
		return jobs, len(found), len(jobs) > 0
	}
	return nil, 0, strings.TrimSpace(root.Text()) == "" || root.Find(`[class*="no-results"]`).Length() > 0
}

// cardNodes adds to found the outermost elements below node that are cards, and reports whether there was a link to a job. An
// item of a list is a card if there is such a link in it and no other sign of a card.
func cardNodes(node *nethtml.Node, found []*nethtml.Node) (_ []*nethtml.Node, linked bool) {
	before := len(found)
	for child := node.FirstChild; child != nil && len(found) < maxCards; child = child.NextSibling {
		if cardElement().Match(child) {
			found = append(found, child)
			continue
		}
		var inside bool
		found, inside = cardNodes(child, found)
		linked = linked || inside || cardLink().Match(child)
	}
	if node.DataAtom == atom.Li && linked && len(found) == before {
		return append(found, node), false
	}
	return found, linked
}

// card reads a card. The whole of it may be a link, have one in it, or none.
func (s *site) card(c *goquery.Selection) job {
	href := c.FindMatcher(cardLink()).First().AttrOr("href", "")
	if c.Is("a[href]") {
		href = c.AttrOr("href", "")
	}
	j := job{
		// The second is the title again, for screen readers.
		Title:      cmp.Or(firstLine(c, ".base-search-card__title"), firstLine(c, ".sr-only")),
		Company:    firstLine(c, ".base-search-card__subtitle"),
		CompanyURL: s.canonical(attribute(c, ".base-search-card__subtitle a[href]", "href")),
		Location:   firstLine(c, ".job-search-card__location"),
		Posted:     firstLine(c, "time"),
		PostedDate: date(attribute(c, "time[datetime]", "datetime")),
		Salary:     firstLine(c, `[class*="job-search-card__salary"]`),
		URL:        s.canonical(href),
	}
	for _, benefit := range firstOf(c, ".job-posting-benefits__text", maxItems) {
		if text := line(benefit); text != "" {
			j.Benefits = append(j.Benefits, text)
		}
	}
	linked, _ := s.jobID(j.URL)
	j.ID = linked
	if m := urnID().FindStringSubmatch(c.AttrOr("data-entity-urn", attribute(c, "[data-entity-urn]", "data-entity-urn"))); m != nil {
		j.ID = m[1]
	}
	if linked == "" {
		j.URL = ""
		if j.ID != "" {
			j.URL = viewURL(j.ID)
		}
	}
	return j
}
