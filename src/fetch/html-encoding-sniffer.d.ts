declare module 'html-encoding-sniffer' {
  /** The encoding's name by BOM, transport label, meta element or default, as the HTML standard sniffs it. */
  export default function sniff(
    bytes: Uint8Array,
    options?: { xml?: boolean; transportLayerEncodingLabel?: string; defaultEncoding?: string },
  ): string
}
