// PostHog's client for Go, in the newest version that the module proxy has for it.
module fanion/clients

go 1.18

require github.com/posthog/posthog-go v1.5.2
