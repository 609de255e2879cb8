"""What Netmiko does to each emulated family and what must come of it, for tests/story/switch_emulator. `config`: lines typed in one
configuration session, and what the terminal then holds; `show`: the command, and what its answer holds, the first one also after a reboot;
`unsaved`: a change that a reboot takes back, and what shows it."""

IOS = {
    "family": "ios",
    "netmiko": "cisco_ios",
    "prompt": "Switch#",
    "config": [
        (["vlan 100", "name tenant-a", "vlan 200", "exit"], "(config-vlan)#"),
        (["interface gi1/0/3", "switchport mode access", "switchport access vlan 300"], "% Access VLAN does not exist. Creating vlan 300"),
        (["int range gi1/0/1 - 2, gi1/0/4", "switchport mode trunk", "switchport trunk allowed vlan 100,200", "swi tr all vlan add 300",
          "swi trunk native vlan 100"], "(config-if-range)#"),
        (["no vlan 1"], "%Default VLAN 1 may not be deleted."),
        (["vlan 1002"], "Command rejected: VLAN 1002 is reserved"),
        (["vlan 201", "name tenant-a"], "VLAN #100 and #201 have an identical name: tenant-a"),
        (["interface gi1/0/3", "switchport trunk allowed vlan 4095"], "Command rejected: Bad VLAN list"),
        (["interface gi1/0/3", "switchport access vlan 5000"], "% Invalid input detected at '^' marker."),
        (["bogus"], "\n               ^\n% Invalid input detected at '^' marker."),
        (["interface"], "% Incomplete command."),
        (["interface gi1/0/3", "s"], '% Ambiguous command:  "s"'),
    ],
    "show": [
        ("show vlan brief", "VLAN Name                             Status    Ports",
         "100  tenant-a                         active    ", "300  VLAN0300                         active    Gi1/0/3\n",
         "1    default                          active    Gi1/0/5, Gi1/0/6, Gi1/0/7, Gi1/0/8", "77   foreign",
         "1005 trnet-default                    act/unsup"),
        ("show interfaces gi1/0/1 switchport", "Administrative Mode: trunk", "Trunking Native Mode VLAN: 100 (tenant-a)",
         "Trunking VLANs Enabled: 100,200,300"),
        ("show running-config interface gi1/0/4", "interface GigabitEthernet1/0/4\n switchport trunk native vlan 100\n"
         " switchport trunk allowed vlan 100,200,300\n switchport mode trunk\n"),
        ("show running-config | include ^vlan", "vlan 100\n"),
        ("show mac address-table", "  77    5254.0000.0002    DYNAMIC     Gi1/0/2"),
        ("show lldp neighbors", "spine1              Gi1/0/1        120        B               Ethernet1/7"),
        ("show version", "Cisco IOS Software"),
    ],
    "saved": "[OK]",
    "unsaved": ["vlan 444", "exit"],
    "unsaved_shows": ("show vlan brief", "VLAN0444"),
    "refused": "Command rejected:",
}

FAMILIES = [IOS]
