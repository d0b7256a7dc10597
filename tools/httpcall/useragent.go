package httpcall

// UserAgent is a browser's, for sites that show nothing to others. Services with
// an interface for programs are told the truth: see [Product].
const UserAgent = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36"

// Product is what services with an interface for programs are told.
const Product = "toolserver"
