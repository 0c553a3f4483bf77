export default {
  title: "The Sundial Notebook",
  url: "http://localhost:3000",
  baseUrl: "/",
  // What src/theme/Root.js writes on the script tag: each name becomes a data- attribute.
  customFields: {
    bookwise: {
      src: "http://localhost:8000/widget.js",
      attributes: { book: "sundial-docusaurus", color: "#2e8555", colorDark: "#25c2a0" },
    },
  },
  plugins: [["@docusaurus/plugin-content-docs", { routeBasePath: "/" }]],
  themes: ["@docusaurus/theme-classic"],
};
