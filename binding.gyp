# A door to the one native build: CMakeLists.txt, through cmake-js. `npx node-gyp rebuild` gives the addon that
# `npx cmake-js compile` gives, in the same places: build/Release/ and prebuilds/<platform>-<arch>/.
{
  "targets": [
    {
      "target_name": "layerloom",
      "type": "none",
      "actions": [
        {
          "action_name": "cmake-js",
          "inputs": ["CMakeLists.txt"],
          "outputs": ["<(module_root_dir)/native/build/Release/layerloom.node"],
          "action": ["node", "<(module_root_dir)/node_modules/cmake-js/bin/cmake-js", "compile", "-O", "native/build", "-T", "layerloom"],
        },
      ],
      "copies": [
        {
          "files": ["<(module_root_dir)/native/build/Release/layerloom.node"],
          "destination": "<(PRODUCT_DIR)",
        },
      ],
    },
  ],
}
