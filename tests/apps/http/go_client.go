// What the clients of Go itself make of rota-http: go run go_client.go URL [CA]. The server has
// files: big.bin, and a.js with a.js.gz. Prints how many checks there were, and what does not hold.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptrace"
	"net/url"
	"os"
	"strings"
	"time"
)

var checks, bad int

func check(name string, holds bool, got ...interface{}) {
	checks++
	if !holds {
		bad++
		fmt.Println(name, "does not hold:", fmt.Sprint(got...))
	}
}

func client() *http.Client {
	trusts := &tls.Config{}
	if len(os.Args) > 2 {
		text, err := os.ReadFile(os.Args[2])
		check("the authority", err == nil, err)
		trusts.RootCAs = x509.NewCertPool()
		trusts.RootCAs.AppendCertsFromPEM(text)
	}
	return &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		TLSClientConfig: trusts, ForceAttemptHTTP2: true, DisableCompression: true,
		ExpectContinueTimeout: 10 * time.Second}}
}

type answer struct {
	*http.Response
	content []byte
}

func send(c *http.Client, asked *http.Request) answer {
	came, err := c.Do(asked)
	if err != nil {
		check(asked.Method+" "+asked.URL.String(), false, err)
		return answer{&http.Response{Header: http.Header{}}, nil}
	}
	defer came.Body.Close()
	content, err := io.ReadAll(came.Body)
	check("the content of "+asked.URL.Path, err == nil, err)
	return answer{came, content}
}

func ask(c *http.Client, method, target string, content io.Reader, fields ...string) answer {
	asked, err := http.NewRequest(method, target, content)
	if err != nil {
		panic(err)
	}
	for i := 0; i+1 < len(fields); i += 2 {
		asked.Header.Add(fields[i], fields[i+1])
	}
	return send(c, asked)
}

func conditions(c *http.Client, file string) {
	whole := ask(c, "GET", file, nil)
	tag, modified := whole.Header.Get("ETag"), whole.Header.Get("Last-Modified")
	past := time.Unix(0, 0).UTC().Format(http.TimeFormat)
	future := time.Now().UTC().Format(http.TimeFormat)
	for _, each := range []struct {
		status int
		fields []string
	}{
		{304, []string{"If-None-Match", `"x", ` + tag}},
		{304, []string{"If-None-Match", "W/" + tag}},
		{200, []string{"If-None-Match", `"x"`, "If-Modified-Since", future}},
		{304, []string{"If-Modified-Since", modified}},
		{200, []string{"If-Modified-Since", past}},
		{412, []string{"If-Match", "W/" + tag}},
		{200, []string{"If-Match", tag}},
		{200, []string{"If-Match", "*", "If-Unmodified-Since", past}},
		{412, []string{"If-Unmodified-Since", past}},
		{412, []string{"If-Match", `"x"`, "If-None-Match", tag}},
		{304, []string{"If-Match", tag, "If-None-Match", tag}},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			got := ask(c, method, file, nil, each.fields...)
			name := method + fmt.Sprint(each.fields)
			check(name, got.StatusCode == each.status, got.StatusCode)
			if got.StatusCode == 304 {
				check("the tag of 304", got.Header.Get("ETag") == tag, got.Header)
			}
		}
	}
}

// A download that breaks off again and again, and goes on where it was.
func download(c *http.Client, file string, whole answer) {
	var got []byte
	for step := 0; len(got) < len(whole.content) && step < 20; step++ {
		asked, _ := http.NewRequest("GET", file, nil)
		if step > 0 {
			asked.Header.Set("Range", fmt.Sprintf("bytes=%d-", len(got)))
			asked.Header.Set("If-Range", whole.Header.Get("ETag"))
		}
		came, err := c.Do(asked)
		if err != nil {
			check("a resumed download", false, err)
			return
		}
		check("its status", came.StatusCode == 206 || step == 0, came.StatusCode)
		piece := make([]byte, len(whole.content)/7+1)
		n, _ := io.ReadFull(came.Body, piece)
		got = append(got, piece[:n]...)
		came.Body.Close() // the rest is not read
	}
	check("a resumed download", bytes.Equal(got, whole.content), len(got))
}

func ranges(c *http.Client, file string) {
	whole := ask(c, "GET", file, nil)
	size := len(whole.content)
	download(c, file, whole)
	changed := ask(c, "GET", file, nil, "Range", "bytes=1-", "If-Range", `"old"`)
	check("a file that has changed", changed.StatusCode == 200, changed.StatusCode)
	got := ask(c, "GET", file, nil, "Range", fmt.Sprintf("bytes=0-9,100-199,%d-", size-5))
	kind, parameters, _ := mime.ParseMediaType(got.Header.Get("Content-Type"))
	check("several ranges", got.StatusCode == 206 && kind == "multipart/byteranges", got.Header)
	parts := multipart.NewReader(bytes.NewReader(got.content), parameters["boundary"])
	for _, each := range [][2]int{{0, 9}, {100, 199}, {size - 5, size - 1}} {
		part, err := parts.NextPart()
		if err != nil {
			check("a part", false, err)
			return
		}
		content, _ := io.ReadAll(part)
		where := fmt.Sprintf("bytes %d-%d/%d", each[0], each[1], size)
		check("where a part is", part.Header.Get("Content-Range") == where, part.Header)
		check("a part", bytes.Equal(content, whole.content[each[0]:each[1]+1]), len(content))
	}
	_, err := parts.NextPart()
	check("the end of the parts", err == io.EOF, err)
	beyond := ask(c, "GET", file, nil, "Range", fmt.Sprintf("bytes=%d-", size))
	check("a range beyond the end", beyond.StatusCode == 416, beyond.StatusCode)
}

// net/http asks for gzip, and decodes it, by itself.
func codings(app string) {
	c := client()
	c.Transport.(*http.Transport).DisableCompression = false
	for _, each := range []string{"/bytes/5000", "/files/a.js", "/stream?lines=5&interval_ms=1"} {
		got := ask(c, "GET", app+each, nil)
		check("the coding of "+each, got.Uncompressed && len(got.content) > 0, got.Header)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write([]byte("hello"))
	w.Close()
	got := ask(c, "POST", app+"/echo", &packed, "Content-Encoding", "gzip")
	check("a coded request", string(got.content) == "hello", got.StatusCode)
}

type form struct {
	Fields []struct{ Name, Value string }
	Files  []struct {
		Name, Filename string
		Size           int
	}
}

func forms(c *http.Client, app string) {
	var found form
	text := url.Values{"a b": {"c&d=e+f%", "ü\x00\n"}}.Encode()
	got := ask(c, "POST", app+"/form", strings.NewReader(text), "Content-Type",
		"application/x-www-form-urlencoded")
	err := json.Unmarshal(got.content, &found)
	check("a form", err == nil && len(found.Fields) == 2, string(got.content))
	if len(found.Fields) == 2 {
		check("its values", found.Fields[0].Value == "c&d=e+f%" &&
			found.Fields[1].Value == "ü\x00\n", found)
	}
	var content bytes.Buffer
	w := multipart.NewWriter(&content)
	w.WriteField("q\"u", "v\r\n--x")
	file, _ := w.CreateFormFile("file", "a \"b\" ü.txt")
	file.Write(bytes.Repeat([]byte("z"), 100000))
	w.Close()
	got = ask(c, "POST", app+"/form", &content, "Content-Type", w.FormDataContentType())
	found = form{}
	err = json.Unmarshal(got.content, &found)
	check("a form with a file", err == nil && len(found.Files) == 1, string(got.content))
	if len(found.Files) == 1 && len(found.Fields) == 1 {
		check("what is in it", found.Fields[0].Name == "q\"u" &&
			found.Files[0].Filename == "a \"b\" ü.txt" && found.Files[0].Size == 100000, found)
	}
}

func cookies(app string) {
	c := client()
	c.Jar, _ = cookiejar.New(nil)
	for _, each := range []string{"name=a&value=1", "name=b&value=2&path=/cookies",
		"name=c&value=3&path=/other", "name=d&value=&max_age=100&http_only=true&same_site=lax",
		"name=gone&value=x&max_age=0"} {
		got := ask(c, "POST", app+"/cookies?"+each, nil)
		check("the cookie "+each, got.StatusCode == 204 && len(got.Cookies()) == 1, got.Header)
	}
	var kept []struct{ Name, Value string }
	got := ask(c, "GET", app+"/cookies", nil)
	err := json.Unmarshal(got.content, &kept)
	check("the cookies of the jar", err == nil && len(kept) == 3, string(got.content))
}

func expectations(c *http.Client, app string) {
	for path, status := range map[string]int{"/echo": 200, "/nowhere": 404} {
		came := false
		asked, _ := http.NewRequest("POST", app+path, strings.NewReader("abc"))
		asked.Header.Set("Expect", "100-continue")
		asked = asked.WithContext(httptrace.WithClientTrace(asked.Context(),
			&httptrace.ClientTrace{Got100Continue: func() { came = true }}))
		got := send(c, asked)
		check("an expectation at "+path, got.StatusCode == status && came == (status == 200), came)
	}
}

func events(c *http.Client, app string) {
	got := ask(c, "GET", app+"/events?interval_ms=1&count=3", nil, "Accept", "text/event-stream")
	check("events", strings.Count(string(got.content), "\ndata: ") == 3, string(got.content))
	got = ask(c, "GET", app+"/events?interval_ms=1&count=3", nil, "Last-Event-ID", "2")
	check("events behind one", got.StatusCode == 200 &&
		!strings.Contains(string(got.content), "id: 2\n"), string(got.content))
}

func jobs(c *http.Client, app string) {
	queue := app + "/v1/queues/" + strings.Split(app, ":")[0]
	for i, status := range []int{201, 409} { // the second is there already
		got := ask(c, "POST", queue+"/jobs", strings.NewReader(`{"key":"a","payload":{"n":1}}`),
			"Content-Type", "application/json")
		check(fmt.Sprint("addition ", i), got.StatusCode == status, got.StatusCode)
	}
	got := ask(c, "POST", queue+"/take", strings.NewReader(`{}`), "Content-Type",
		"application/json")
	check("a take", got.StatusCode == 200 && bytes.Contains(got.content, []byte(`"n":1`)),
		string(got.content))
}

func main() {
	app := os.Args[1]
	c := client()
	conditions(c, app+"/files/big.bin")
	ranges(c, app+"/files/big.bin")
	codings(app)
	forms(c, app)
	cookies(app)
	expectations(c, app)
	events(c, app)
	jobs(c, app)
	last := ask(c, "GET", app+"/plaintext", nil)
	fmt.Println(last.Proto, checks, "checks,", bad, "do not hold")
}
