// PostHog's client for Go and OpenFeature's, each in the newest version that the module proxy has for it.
module fanion/clients

go 1.26.0

require (
	github.com/open-feature/go-sdk v1.20.0
	github.com/open-feature/go-sdk-contrib/providers/ofrep v0.1.7
	github.com/posthog/posthog-go v1.5.2
)

require go.uber.org/mock v0.6.0 // indirect
