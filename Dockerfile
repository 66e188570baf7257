# The image of Shoal: docs/containers.md. Two targets: the default, and `--target chromium` for routes with `render`.
#   docker build -t shoal:0.1.0 .
#   docker build -t shoal:0.1.0-chromium --target chromium .

# Node 24: a crawl of 5,000 pages costs 36 % less CPU than on Node 20.
ARG NODE_IMAGE=docker.io/library/node:24-bookworm-slim

# --- build: everything that the lockfile names, then the package as npm would publish it
FROM ${NODE_IMAGE} AS build
# If your registry has a certificate of your own authority, pass the path of its file in the build container.
ARG NODE_EXTRA_CA_CERTS
WORKDIR /build
COPY package.json package-lock.json ./
# No package needs its install script: the only native one ships its binaries.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm run build \
  && npm pack --ignore-scripts --silent \
  && mkdir /package \
  && tar -xzf shoal-*.tgz -C /package --strip-components=1 --no-same-owner \
  && rm -rf /package/node_modules

# --- dependencies: those of production, and the optional ones that a fleet uses (raw pages in S3, traces), all in the versions of the lockfile
FROM ${NODE_IMAGE} AS dependencies
ARG NODE_EXTRA_CA_CERTS
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
  && locked() { node -p "require('./package-lock.json').packages['node_modules/$1'].version"; } \
  && npm install --no-save --save-prod --omit=dev --ignore-scripts --no-audit --no-fund \
    "@aws-sdk/client-s3@$(locked @aws-sdk/client-s3)" "@opentelemetry/api@$(locked @opentelemetry/api)" \
  # The SQLite driver brings binaries for six platforms.
  && find node_modules/@photostructure/sqlite/prebuilds -mindepth 1 -maxdepth 1 -type d \
    ! -name "linux-$(node -p process.arch)" -exec rm -r {} +

# --- runtime: no compiler, no development dependencies, no cache
FROM ${NODE_IMAGE} AS runtime
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="shoal" \
  org.opencontainers.image.description="Distributed web scraping: one spider file, from a laptop to a fleet" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.licenses="MIT"
# A number, so that Kubernetes can check runAsNonRoot. Written by hand: useradd stores the date in /etc/shadow, and two builds would differ.
RUN echo 'shoal:x:10001:10001:Shoal:/tmp:/usr/sbin/nologin' >> /etc/passwd \
  && echo 'shoal:x:10001:' >> /etc/group \
  && mkdir /data /spiders /node_modules \
  && chown 10001:10001 /data /spiders \
  && ln -s /app /node_modules/shoal \
  && ln -s /app/bin/shoal.js /usr/local/bin/shoal
COPY --from=dependencies /build/node_modules /app/node_modules
COPY --from=build /package /app
ENV NODE_ENV=production \
  HOME=/tmp
USER 10001:10001
WORKDIR /spiders
VOLUME /data
# The dashboard, and metrics with probes.
EXPOSE 7373 9464
STOPSIGNAL SIGTERM
# Asks whether the process answers at all, and never whether a crawl makes progress: a restart does not fix a site, a queue or a stalled crawl.
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 CMD ["node", "/app/dist/container/health-process.js"]
ENTRYPOINT ["shoal"]
CMD ["--help"]

# --- chromium: the same, with a browser
FROM runtime AS chromium
USER 0:0
RUN apt-get update \
  && apt-get install -y --no-install-recommends chromium fonts-liberation \
  && rm -rf /var/lib/apt/lists/* /var/cache/ldconfig/aux-cache /var/log/apt /var/log/dpkg.log /var/log/alternatives.log
COPY --from=build /build/node_modules/playwright-core /app/node_modules/playwright-core
USER 10001:10001

# The last stage is what `docker build` makes without --target.
FROM runtime
