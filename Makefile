# `make` lists the targets.

# Every module but tools/, which holds no code.
MODULES := $(patsubst ./%,%,$(patsubst %/go.mod,%,$(shell find . -name go.mod \
	-not -path './tools/*' -not -path './.*/*' | sort)))
TOOLS := $(CURDIR)/.cache/bin
TESTFLAGS ?=
FUZZTIME ?= 10s
CHAOSFLAGS ?=

# in-modules COMMAND: runs it in every module, and fails at the end if one failed.
in-modules = @failed=0; for dir in $(MODULES); do \
	echo "$$dir: $(1)"; (cd $$dir && $(1)) || failed=1; done; exit $$failed

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' $(MAKEFILE_LIST) | expand -t 12

.PHONY: demo
demo: ## generate examples/ledger and show what it does, on a PostgreSQL found here or fetched
	scripts/servers.sh any
	cd examples/ledger && go generate ./... && go run ./demo

.PHONY: servers
servers: ## make PostgreSQL, PgBouncer, Kafka and RabbitMQ available to the tests
	scripts/servers.sh

.PHONY: generate
generate: ## run go generate in every module
	$(call in-modules,go generate ./...)

.PHONY: test
test: servers ## run all tests (TESTFLAGS=-race, TESTFLAGS=-short, ...)
	$(call in-modules,go test $(TESTFLAGS) ./...)

.PHONY: check
check: lint generated test ## all that has to hold before a commit

.PHONY: lint
lint: $(TOOLS)/stamp ## format, vet, staticcheck, revive, tidy go.mod files that agree
	@find . -name '*.go' -not -path './.*/*' -exec $(TOOLS)/gofumpt -l {} + | \
		{ ! grep . || { echo 'format these with gofumpt' >&2; exit 1; }; }
	scripts/upgrade.sh --check
	$(call in-modules,go mod tidy -diff)
	$(call in-modules,go vet ./...)
	$(call in-modules,$(TOOLS)/staticcheck ./...)
	$(call in-modules,$(TOOLS)/revive -config $(CURDIR)/revive.toml ./...)

.PHONY: generated
generated: ## check that generated files are what go generate writes
	scripts/generated.sh

.PHONY: upgrade
upgrade: ## move pgx, amqp091-go and franz-go to their newest versions, in all modules at once
	scripts/upgrade.sh

.PHONY: fuzz
fuzz: servers ## run every fuzz target for FUZZTIME
	scripts/fuzz.sh $(FUZZTIME)

.PHONY: chaos
chaos: servers ## send 100,000 messages through both brokers while things break (CHAOSFLAGS="-seed 1 -messages 5000")
	cd e2e && go run ./chaos $(CHAOSFLAGS)

.PHONY: bench
bench: servers ## compare generation with sqlc's, and what is generated with what is written by hand
	cd bench && go run .
	cd e2e && go run ./speed && go run ./speed -latency 1ms

$(TOOLS)/stamp: tools/go.mod tools/go.sum
	cd tools && go build -o $(TOOLS)/ tool
	@touch $@
