"""Names under which logs hold the parts of a request, in small letters and without punctuation;
`a.b` is the key b within a."""

import functools

REQUEST = ("request", "req", "requestline", "httprequestline", "rawrequest", "r")
"""A whole request line, or its target alone."""
TARGET = (
    "requesturi", "clientrequesturi", "rawuri", "rawpath", "originaluri", "originalurl", "urloriginal", "url.original",
    "httprequest.requesturl", "requesturl", "http.requesturi", "http.url", "request.requesturi",
)  # fmt: skip
"""The target as the client sent it, with its query."""
PATH = (
    "requestpath", "request.uri", "request.url", "url.full", "url", "path", "uri", "url.path", "urlpath", "uripath", "urlpathname",
    "documenturi",
    "request.path", "httprequest.path", "http.request.uri", "decodedpath", "csuristem", "request.hu", "pathname", "endpoint",
)  # fmt: skip
"""A path, with its query or without, as the client sent it or decoded: which, the log shows."""
QUERY = (
    "args",
    "querystring",
    "query",
    "url.query",
    "requestquery",
    "queryparams",
    "qs",
    "params",
    "parameters",
    "requestargs",
    "csuriquery",
    "q",
    "request.query",
    "request.hq",
)
METHOD = (
    "requestmethod", "method", "http.request.method", "httprequest.requestmethod", "request.method", "httpmethod", "verb", "csmethod",
    "clientrequestmethod", "http.method", "m",
)  # fmt: skip
STATUS = (
    "status", "statuscode", "responsestatus", "httpstatus", "http.response.statuscode", "httprequest.status", "response.status",
    "response.statuscode", "downstreamstatus", "edgeresponsestatus", "scstatus", "responsecode", "httpstatuscode", "response", "code",
    "http.statuscode", "originstatus", "s",
)  # fmt: skip
SITE = (
    "httphost", "requesthost", "request.host", "vhost", "virtualhost", "hostheader", "authority", "xhostheader", "clientrequesthost",
    "host", "url.domain", "requestheaders.host", "request.headers.host", "request.header.host", "domain", "site", "servername",
    "requestaddr", "cshost", "xforwardedhost",
)  # fmt: skip
SCHEME = ("xforwardedproto", "httpxforwardedproto", "scheme", "requestscheme", "url.scheme", "csprotocol", "https", "protocolscheme", "ssl")
PORT = ("serverport", "requestport", "port")
TIME = (
    "msec", "timeiso8601", "timelocal", "timestamp", "time", "ts", "startutc", "startlocal", "datetime", "edgestarttimestamp", "date",
    "eventtime", "t",
)  # fmt: skip
TOOK = "requesttime"
CACHE = ("upstreamcachestatus", "cachestatus", "xedgeresulttype", "xcache", "cfcachestatus", "cache")
UPSTREAM = ("upstreamaddr", "upstreamstatus", "upstreamresponsetime")


@functools.lru_cache(maxsize=4096)
def plain_name(name: str) -> str:
    """A key as the tables here have it: `@timestamp` is `timestamp`, `cs(Host)` is `cshost`."""
    return "".join(character for character in name.lower() if character.isalnum() or character == ".")
