package websearch

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/toolserver/toolserver/outbound/httpcall"
)

// TavilyOptions are the settings of the Tavily API.
type TavilyOptions struct {
	APIKey  string `yaml:"api_key" secret:"true"`
	BaseURL string `yaml:"base_url" template:"-"`
}

// provider returns the Tavily API (https://docs.tavily.com/documentation/api-reference/endpoint/search).
func (o *TavilyOptions) provider() *provider {
	return &provider{
		name: "tavily", title: "Tavily API", base: o.BaseURL, variable: "TAVILY_API_KEY", key: &o.APIKey, interval: 100 * time.Millisecond,
		header: func(key string) map[string]string {
			return map[string]string{"Accept": "application/json", "Content-Type": "application/json", "Authorization": "Bearer " + key}
		},
		periods:    map[string]string{"day": "day", "week": "week", "month": "month", "year": "year"},
		safeSearch: map[string]string{"off": ""}, // only large customers can have it
		days:       true,
		countries:  tavilyCountries,
		rules:      tavilyRules,
		search:     searchTavily,
	}
}

// tavilyMost is how many results one search can have. There are no pages.
const tavilyMost = 20

// searchTavily asks for all results up to the end of the page, and one more to know whether there are any.
func searchTavily(ctx context.Context, p *provider, q Query, o options) (Results, error) {
	if q.end() > tavilyMost {
		return Results{}, p.beyond(q)
	}
	period, from, to := o.age, "", ""
	if first, last, days := strings.Cut(o.age, "to"); days {
		period, from, to = "", first, last
	}
	body, err := json.Marshal(struct {
		Query      string `json:"query"`
		MaxResults int    `json:"max_results"`
		Country    string `json:"country,omitempty"`
		TimeRange  string `json:"time_range,omitempty"`
		StartDate  string `json:"start_date,omitempty"`
		EndDate    string `json:"end_date,omitempty"`
	}{q.Text, min(q.end()+1, tavilyMost), o.country, period, from, to})
	if err != nil {
		return Results{}, err
	}
	return p.gather(q, 1, func(int) ([]item, bool, error) {
		var answer struct {
			Results *[]item `json:"results"`
		}
		if err := p.askJSON(ctx, httpcall.Request{URL: p.http.URL("search", nil), Body: body}, &answer); err != nil {
			return nil, false, err
		}
		if answer.Results == nil {
			return nil, false, p.badAnswer("there is no list of results")
		}
		return *answer.Results, false, nil
	})
}

// tavilyRules go by the status: Tavily explains itself in words only. 432 is the limit of the plan or of the key, 433 of what is
// paid for beyond the plan.
var tavilyRules = httpcall.Rules{
	{
		Statuses: []int{403}, When: noPage, Type: "plan_required", Meaning: "the key's plan does not include this search",
		Hint: "The plan of the key must be changed, at https://app.tavily.com.",
	},
	{Statuses: []int{432, 433}, Type: "quota_exceeded", Meaning: quotaMeaning, Hint: hintQuota},
}

// tavilyCountries are values of its parameter country.
const tavilyCountries = `
AF afghanistan AL albania DZ algeria AD andorra AO angola AR argentina AM armenia AU australia AT austria AZ azerbaijan BS bahamas BH bahrain BD bangladesh
BB barbados BY belarus BE belgium BZ belize BJ benin BT bhutan BO bolivia BA bosnia_and_herzegovina BW botswana BR brazil BN brunei BG bulgaria
BF burkina_faso BI burundi KH cambodia CM cameroon CA canada CV cape_verde CF central_african_republic TD chad CL chile CN china CO colombia KM comoros
CG congo CR costa_rica HR croatia CU cuba CY cyprus CZ czech_republic DK denmark DJ djibouti DO dominican_republic EC ecuador EG egypt SV el_salvador
GQ equatorial_guinea ER eritrea EE estonia ET ethiopia FJ fiji FI finland FR france GA gabon GM gambia GE georgia DE germany GH ghana GR greece GT guatemala
GN guinea HT haiti HN honduras HU hungary IS iceland IN india ID indonesia IR iran IQ iraq IE ireland IL israel IT italy JM jamaica JP japan JO jordan
KZ kazakhstan KE kenya KW kuwait KG kyrgyzstan LV latvia LB lebanon LS lesotho LR liberia LY libya LI liechtenstein LT lithuania LU luxembourg MG madagascar
MW malawi MY malaysia MV maldives ML mali MT malta MR mauritania MU mauritius MX mexico MD moldova MC monaco MN mongolia ME montenegro MA morocco
MZ mozambique MM myanmar NA namibia NP nepal NL netherlands NZ new_zealand NI nicaragua NE niger NG nigeria KP north_korea MK north_macedonia NO norway
OM oman PK pakistan PA panama PG papua_new_guinea PY paraguay PE peru PH philippines PL poland PT portugal QA qatar RO romania RU russia RW rwanda
SA saudi_arabia SN senegal RS serbia SG singapore SK slovakia SI slovenia SO somalia ZA south_africa KR south_korea SS south_sudan ES spain LK sri_lanka
SD sudan SE sweden CH switzerland SY syria TW taiwan TJ tajikistan TZ tanzania TH thailand TG togo TT trinidad_and_tobago TN tunisia TR turkey TM turkmenistan
UG uganda UA ukraine AE united_arab_emirates GB united_kingdom US united_states UY uruguay UZ uzbekistan VE venezuela VN vietnam YE yemen ZM zambia
ZW zimbabwe`
